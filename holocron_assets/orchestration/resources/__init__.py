"""Resources: the objects that assets get, as plain objects of other packages."""
