"""Bundled event files, and the benchmark's archives"""
