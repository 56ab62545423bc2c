"""What an author uses: new lessons and repositories, lint, preview, training."""
