"""Its being here puts this folder on the path of the tests, for the parts that they share."""
