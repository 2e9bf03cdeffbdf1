"""What partitions have to keep beside the balance: each constraint, checked and brought to use."""
