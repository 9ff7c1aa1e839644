"""stallkit for programs in other languages: JSON-RPC over lines and HTTP, and MCP."""
