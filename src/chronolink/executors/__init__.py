"""Where pieces of work are done"""
