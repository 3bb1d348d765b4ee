"""What the command line can do"""
