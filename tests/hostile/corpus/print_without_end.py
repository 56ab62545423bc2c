"""Prints without end."""
#: ends it passed the limit of 1 MiB for what it prints \(config.yaml: limits.printed_mib\)
#: limits printed_mib=1

# control:
print('hello')
# attack:
while True:
    print('flood ' * 999)
