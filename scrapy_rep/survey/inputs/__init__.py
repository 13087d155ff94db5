"""Where surveys take files from: folders, JSON Lines, WARC, the store of crawls."""
