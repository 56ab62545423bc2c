"""What really ran as a graph, its layout and its drawing."""
