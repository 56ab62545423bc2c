"""Fails with markup and control characters in its words."""
#: ends ValueError: <script>

import world

# control:
open(world.own).close()
# attack:
raise ValueError("<script>alert(1)</script>\x1b[31m\u202e\0" + "x" * 9_999_999)
