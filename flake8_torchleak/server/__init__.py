"""`torchleak server`: a language server. pygls and lsprotocol, from the extra `server`, are imported only here."""
