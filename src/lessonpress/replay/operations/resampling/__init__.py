"""Images and signals in other sizes: resized, padded by what lies at their edge, cut into patches, rearranged."""
