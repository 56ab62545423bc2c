"""Has the kernel push a file's pages out of memory."""
#: open

import mmap

import world

# control:
file = open(world.own, "rb")
memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
memory.madvise(mmap.MADV_WILLNEED)
# attack:
memory.madvise(21)  # MADV_PAGEOUT
