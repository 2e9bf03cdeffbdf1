"""Evaluation of partitions: metrics, tables and notebook output."""
