"""Numbers from events, reports and attention"""
