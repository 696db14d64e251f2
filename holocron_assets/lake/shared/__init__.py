"""One lake for several machines: objects in a store, a mirror of them on each machine, a server of locks."""
