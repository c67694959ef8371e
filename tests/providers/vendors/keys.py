"""Private keys for tests, made once: making an RSA key takes a while."""

import json
from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65_537, 2048)


@cache
def p256_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@cache
def service_account() -> str:
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "tidings-test",
            "private_key_id": "f00d",
            "private_key": pem(rsa_key()),
            "client_email": "sender@tidings-test.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token",
        }
    )
