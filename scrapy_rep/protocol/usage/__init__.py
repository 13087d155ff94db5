"""What content may be used for: Content-Usage, Content-Signal, TDMRep, licences."""
