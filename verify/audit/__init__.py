"""What a kernel becomes on GPUs that need not be there: its instructions, their errors, its registers."""
