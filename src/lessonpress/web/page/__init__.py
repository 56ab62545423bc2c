"""Pages: one HTML file for a lesson, one for the catalogue, one for a lesson's history; no network, no clock."""
