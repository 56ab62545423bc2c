"""Pages: prose, figures, scripts, and the server of this machine."""
