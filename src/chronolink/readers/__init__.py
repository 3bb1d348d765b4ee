"""From files and frames to plain columns"""
