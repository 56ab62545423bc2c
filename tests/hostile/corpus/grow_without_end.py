"""Takes memory bit by bit."""
#: ends MemoryError.*the memory limit is 1024 MiB
#: limits memory_mib=1024

# control:
bytearray(1 << 20)
# attack:
held = []
while True:
    held.append(bytearray(1 << 26))
