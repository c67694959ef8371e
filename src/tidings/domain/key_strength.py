"""Whether a key that a person chose can be guessed."""

import zlib

SHORTEST = 32
FEWEST_BYTES = 24
"""What is left of a key that nobody can guess, once what everybody knows is taken out: 32 random digits leave 26."""
_KNOWN = (
    b"zyxwvutsrqponmlkjihgfedcba 9876543210 abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm qwertz"
    b" 1q2w3e4r5t6y7u8i9o0p iloveyou dragon monkey football sunshine princess trustno1 master shadow hello welcome"
    b" letmein login root super user test testing example sample demo default changeme change-me change_this please"
    b" key api-key apikey token bearer access private public service operator administrator admin tidings tid_ secret"
    b" mysecret correcthorsebatterystaple pass passphrase passw0rd p@ssw0rd password"
)


def problem_of_chosen_key(key: str) -> str | None:
    """Why a key could be guessed, if it could: too short, or made of words, repetitions and sequences."""
    if len(key) < SHORTEST:
        return f"has {len(key)} characters, and needs {SHORTEST}"
    # Compressing finds repetitions, and with a dictionary also the words and sequences in it.
    compressor = zlib.compressobj(level=9, wbits=-15, zdict=_KNOWN)
    left = len(compressor.compress(key.lower().encode(errors="replace")) + compressor.flush())
    return None if left >= FEWEST_BYTES else "is made of common words, repetitions or sequences"
