"""Asks for more memory than there is."""
#: ends MemoryError.*the memory limit is 4096 MiB \(config.yaml: limits.memory_mib\)

# control:
bytearray(1 << 20)
# attack:
bytearray(40 << 30)
