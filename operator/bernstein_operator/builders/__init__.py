"""Pure makers of API objects: what to send, never when or whether."""
