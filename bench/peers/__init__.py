"""The peers that Headway is measured against, each behind the smallest honest adapter."""
