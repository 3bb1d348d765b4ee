"""Drawings from numbers"""
