"""The paper's tables and figures as plans"""
