"""Fetches a page from another machine."""
#: ends URLError: <urlopen error .Errno 1.

import urllib.request

# control:
urllib.request.Request("http://192.0.2.1/")
# attack:
urllib.request.urlopen("http://192.0.2.1/", timeout=2)
