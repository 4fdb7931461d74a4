"""The merge of segmented MLA attention partials, correctly rounded, as one Triton kernel."""

try:
    from mla_merge.launcher import merge_mla_segments_triton
except ModuleNotFoundError as error:
    if error.name != "triton":
        raise
    raise ImportError(
        "mla_merge needs triton, which is not installed: a GPU build of torch brings its own; on a machine "
        "without a GPU run: pip install 'mla-merge-verify[cpu]'"
    ) from None

__all__ = ["merge_mla_segments_triton"]
