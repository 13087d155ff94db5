"""The inputs of surveys: folders, JSON Lines, WARC files, audit trails and the store of crawls."""
