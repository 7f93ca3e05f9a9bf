"""The actions on nodes, pools, jobs and tasks: menu, forms, consequences and trials."""
