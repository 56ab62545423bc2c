"""Replaces the function that writes the answer."""
#: ends cannot be read|not the worker

import json

# control:
json.dumps({})
# attack:
json.dumps = lambda *_, **__: '{"ok": NaN}'
