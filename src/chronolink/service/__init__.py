"""A run over HTTP, with a page"""
