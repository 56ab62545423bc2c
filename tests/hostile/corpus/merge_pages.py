"""Has the kernel merge its pages with equal ones of others, which it could notice by the time that writing takes."""

import mmap

# control:
memory = mmap.mmap(-1, 4096)
memory.madvise(mmap.MADV_DONTNEED)
# attack:
memory.madvise(12)  # MADV_MERGEABLE
