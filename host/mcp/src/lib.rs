//! Tools of a remote Model Context Protocol server, seen as one more set of tools
