"""Preferences about the use of content: Content-Usage, Content-Signal, TDMRep, licences."""
