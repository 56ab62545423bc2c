"""What a published revision is: manifest, identity, history, bundle, provenance, and what tells two apart."""
