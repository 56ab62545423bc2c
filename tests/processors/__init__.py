"""`make processors`: the worker under other processors, emulated, and one table of what differs."""
