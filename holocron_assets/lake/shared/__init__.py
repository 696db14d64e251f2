"""One lake for several machines: objects in a store, a mirror on each machine, and a server for locks."""
