"""What boto3 does with an S3 server: each check is one line, each that fails is named, the last line counts them.

usage: boto3_round_trip.py ENDPOINT      keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
import uuid

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, MissingDependencyException

ENDPOINT = sys.argv[1]
RUN = uuid.uuid4().hex[:8]
passed = 0
failed = []


def client(access=None, secret=None):
    config = Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}, signature_version="s3v4")
    return boto3.client("s3", endpoint_url=ENDPOINT, region_name="us-east-1", config=config, aws_access_key_id=access, aws_secret_access_key=secret)


S3 = client()


def check(name, holds, found=None):
    global passed
    if holds:
        passed += 1
    else:
        failed.append(name)
        print(f"FAILED {name}: {str(found)[:300]}")


def error(call):
    """Code and status of what a call is refused with."""
    try:
        call()
        return ("none", 200)
    except ClientError as refused:
        return (refused.response["Error"]["Code"], refused.response["ResponseMetadata"]["HTTPStatusCode"])


def refused(name, call, *codes):
    found = error(call)
    check(name, found[0] in codes or found[1] in codes, found)


def http(method, url, data=None, headers=None):
    request = urllib.request.Request(url, method=method, data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read(), answer.headers


def body(bucket, key, **more):
    return S3.get_object(Bucket=bucket, Key=key, **more)["Body"].read()


def make(name):
    bucket = f"conf-{name}-{RUN}"
    S3.create_bucket(Bucket=bucket)
    return bucket


def empty_and_delete(bucket):
    for page in S3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for one in page.get("Versions", []) + page.get("DeleteMarkers", []):
            S3.delete_object(Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])
    for upload in S3.list_multipart_uploads(Bucket=bucket).get("Uploads", []):
        S3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    S3.delete_bucket(Bucket=bucket)


def buckets(bucket):
    check("bucket is listed", bucket in [one["Name"] for one in S3.list_buckets()["Buckets"]])
    check("bucket has a head", S3.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPStatusCode"] == 200)
    check("bucket has a location", S3.get_bucket_location(Bucket=bucket)["LocationConstraint"] is None)
    refused("no such bucket", lambda: S3.list_objects_v2(Bucket=f"absent-{RUN}"), "NoSuchBucket")
    refused("bad bucket name", lambda: S3.create_bucket(Bucket="x..y"), "InvalidBucketName")
    S3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    check("bucket tags", S3.get_bucket_tagging(Bucket=bucket)["TagSet"] == [{"Key": "k", "Value": "v"}])


def objects(bucket):
    put = S3.put_object(Bucket=bucket, Key="a", Body=b"hello", Metadata={"x": "y"}, ContentType="text/plain", CacheControl="no-cache", Tagging="k=v")
    check("etag is the MD5", put["ETag"] == f'"{hashlib.md5(b"hello").hexdigest()}"', put)
    got = S3.get_object(Bucket=bucket, Key="a")
    check("body", got["Body"].read() == b"hello")
    check("metadata", got["Metadata"] == {"x": "y"} and got["ContentType"] == "text/plain" and got["CacheControl"] == "no-cache", got)
    check("tag count", got.get("TagCount") == 1, got)
    check("head", S3.head_object(Bucket=bucket, Key="a")["ContentLength"] == 5)
    ranged = S3.get_object(Bucket=bucket, Key="a", Range="bytes=-2")
    check("suffix range", ranged["Body"].read() == b"lo" and ranged["ContentRange"] == "bytes 3-4/5", ranged)
    refused("range outside", lambda: S3.get_object(Bucket=bucket, Key="a", Range="bytes=9-"), "InvalidRange")
    check("response override", S3.get_object(Bucket=bucket, Key="a", ResponseContentType="x/y")["ContentType"] == "x/y")
    refused("get if-match", lambda: S3.get_object(Bucket=bucket, Key="a", IfMatch='"x"'), "PreconditionFailed")
    refused("get if-none-match", lambda: S3.get_object(Bucket=bucket, Key="a", IfNoneMatch=put["ETag"]), 304)
    refused("put if-none-match", lambda: S3.put_object(Bucket=bucket, Key="a", Body=b"z", IfNoneMatch="*"), "PreconditionFailed")
    refused("put if-match on nothing", lambda: S3.put_object(Bucket=bucket, Key="none", Body=b"z", IfMatch='"x"'), "NoSuchKey")
    refused("no such key", lambda: S3.get_object(Bucket=bucket, Key="none"), "NoSuchKey")
    refused("other MD5", lambda: S3.put_object(Bucket=bucket, Key="m", Body=b"abc", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg=="), "BadDigest")
    refused("malformed MD5", lambda: S3.put_object(Bucket=bucket, Key="m", Body=b"abc", ContentMD5="xx"), "InvalidDigest")
    for size in [0, 1, 65536, 65537, 1 << 20, 5_000_001]:
        data = os.urandom(size)
        S3.put_object(Bucket=bucket, Key="sized", Body=data)
        check(f"{size} bytes", body(bucket, "sized") == data)
    S3.put_object_tagging(Bucket=bucket, Key="a", Tagging={"TagSet": [{"Key": "z", "Value": "1"}]})
    check("object tags", S3.get_object_tagging(Bucket=bucket, Key="a")["TagSet"] == [{"Key": "z", "Value": "1"}])
    S3.delete_object_tagging(Bucket=bucket, Key="a")
    check("no object tags", S3.get_object_tagging(Bucket=bucket, Key="a")["TagSet"] == [])


def copies(bucket):
    source = {"Bucket": bucket, "Key": "a"}
    S3.copy_object(Bucket=bucket, Key="copy", CopySource=source)
    check("copy", body(bucket, "copy") == b"hello" and S3.head_object(Bucket=bucket, Key="copy")["Metadata"] == {"x": "y"})
    S3.copy_object(Bucket=bucket, Key="copy", CopySource=source, MetadataDirective="REPLACE", Metadata={"q": "1"})
    check("copy with other metadata", S3.head_object(Bucket=bucket, Key="copy")["Metadata"] == {"q": "1"})
    refused("copy onto itself", lambda: S3.copy_object(Bucket=bucket, Key="a", CopySource=source), "InvalidRequest")
    refused("copy if-match", lambda: S3.copy_object(Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch='"x"'), "PreconditionFailed")


def keys_and_listings(bucket):
    keys = ["../../x", "..", ".", "a//b", "/lead", "ü/ñ €", "a b+c%20&?#=", "k" * 1024, "L/d/1", "L/d/2", "L/e/1", "L/f"]
    for key in keys:
        S3.put_object(Bucket=bucket, Key=key, Body=key.encode())
        check(f"key {key[:20]}", body(bucket, key) == key.encode())
    refused("key too long", lambda: S3.put_object(Bucket=bucket, Key="k" * 1025, Body=b""), "KeyTooLongError")
    ordered = sorted(keys, key=str.encode)
    for name in ["list_objects_v2", "list_objects"]:
        pages = S3.get_paginator(name).paginate(Bucket=bucket, PaginationConfig={"PageSize": 3})
        check(f"{name} in pages", [one["Key"] for page in pages for one in page.get("Contents", [])] == ordered)
    grouped = S3.list_objects_v2(Bucket=bucket, Prefix="L/", Delimiter="/")
    prefixes = [one["Prefix"] for one in grouped["CommonPrefixes"]]
    check("common prefixes", prefixes == ["L/d/", "L/e/"] and [one["Key"] for one in grouped["Contents"]] == ["L/f"], grouped)
    after = S3.list_objects_v2(Bucket=bucket, StartAfter="L/e/1", Prefix="L/")
    check("start-after", [one["Key"] for one in after["Contents"]] == ["L/f"], after)
    done = S3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "L/f"}, {"Key": "none"}]})
    check("delete many", len(done["Deleted"]) == 2, done)


def versions(bucket):
    S3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    check("versioning is on", S3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled")
    first = S3.put_object(Bucket=bucket, Key="k", Body=b"1")["VersionId"]
    S3.put_object(Bucket=bucket, Key="k", Body=b"2")
    check("older version", body(bucket, "k", VersionId=first) == b"1")
    marker = S3.delete_object(Bucket=bucket, Key="k")
    check("delete marker", marker["DeleteMarker"] and marker["VersionId"], marker)
    refused("hidden by the marker", lambda: S3.get_object(Bucket=bucket, Key="k"), "NoSuchKey")
    refused("get of the marker", lambda: S3.get_object(Bucket=bucket, Key="k", VersionId=marker["VersionId"]), "MethodNotAllowed")
    listed = S3.list_object_versions(Bucket=bucket)
    check("list versions", len(listed["Versions"]) == 2 and listed["DeleteMarkers"][0]["IsLatest"], listed)
    S3.delete_object(Bucket=bucket, Key="k", VersionId=marker["VersionId"])
    check("undeleted", body(bucket, "k") == b"2")
    refused("bucket is not empty", lambda: S3.delete_bucket(Bucket=bucket), "BucketNotEmpty")


def upload(bucket, key, parts, start=None, **each):
    upload = S3.create_multipart_upload(Bucket=bucket, Key=key, **(start or {}))["UploadId"]
    done = []
    for number, data in enumerate(parts, 1):
        answer = S3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=data, **each)
        done.append({"PartNumber": number} | {name: value for name, value in answer.items() if name == "ETag" or name.startswith("Checksum")})
    return upload, done


def complete(bucket, key, upload, parts):
    return S3.complete_multipart_upload(Bucket=bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})


def multipart(bucket):
    data = [os.urandom(5 << 20), os.urandom(123456)]
    started, parts = upload(bucket, "mp", data)
    sizes = [part["Size"] for part in S3.list_parts(Bucket=bucket, Key="mp", UploadId=started)["Parts"]]
    check("list parts", sizes == [5 << 20, 123456], sizes)
    check("list uploads", len(S3.list_multipart_uploads(Bucket=bucket)["Uploads"]) == 1)
    wrong = [{"PartNumber": 1, "ETag": parts[1]["ETag"]}]
    refused("wrong part", lambda: complete(bucket, "mp", started, wrong), "InvalidPart")
    refused("wrong order", lambda: complete(bucket, "mp", started, parts[::-1]), "InvalidPartOrder")
    made = complete(bucket, "mp", started, parts)
    expected = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in data)).hexdigest()
    check("etag of parts", made["ETag"] == f'"{expected}-2"', made)
    check("assembled", body(bucket, "mp") == b"".join(data))
    check("one part", body(bucket, "mp", PartNumber=2) == data[1])
    started = S3.create_multipart_upload(Bucket=bucket, Key="mp2")["UploadId"]
    source = {"Bucket": bucket, "Key": "mp"}
    copied = S3.upload_part_copy(Bucket=bucket, Key="mp2", UploadId=started, PartNumber=1, CopySource=source, CopySourceRange="bytes=0-5242879")
    complete(bucket, "mp2", started, [{"PartNumber": 1, "ETag": copied["CopyPartResult"]["ETag"]}])
    check("part copied", body(bucket, "mp2") == data[0])
    started, parts = upload(bucket, "mp3", [b"small", b"small"])
    refused("part too small", lambda: complete(bucket, "mp3", started, parts), "EntityTooSmall")
    S3.abort_multipart_upload(Bucket=bucket, Key="mp3", UploadId=started)
    refused("aborted", lambda: S3.list_parts(Bucket=bucket, Key="mp3", UploadId=started), "NoSuchUpload")


def checksums(bucket):
    data = [os.urandom(5 << 20), os.urandom(1234)]
    kinds = [("CRC32", "COMPOSITE"), ("CRC32C", "FULL_OBJECT"), ("CRC64NVME", "FULL_OBJECT"), ("SHA1", "COMPOSITE"), ("SHA256", "COMPOSITE")]
    for algorithm, kind in kinds:
        field = f"Checksum{algorithm}"
        try:
            put = S3.put_object(Bucket=bucket, Key="sum", Body=b"abc", ChecksumAlgorithm=algorithm)
        except MissingDependencyException:
            print(f"SKIPPED: {algorithm} needs awscrt")
            continue
        head = S3.head_object(Bucket=bucket, Key="sum", ChecksumMode="ENABLED")
        check(f"{algorithm} is kept", head.get(field) and head[field] == put[field], head)
        start = {"ChecksumAlgorithm": algorithm, "ChecksumType": kind}
        started, parts = upload(bucket, "sum", data, start, ChecksumAlgorithm=algorithm)
        made = complete(bucket, "sum", started, [{name: part[name] for name in ["PartNumber", "ETag", field]} for part in parts])
        check(f"{algorithm} {kind}", made["ChecksumType"] == kind and made[field], made)
        wanted = ["ETag", "Checksum", "ObjectParts", "ObjectSize", "StorageClass"]
        told = S3.get_object_attributes(Bucket=bucket, Key="sum", ObjectAttributes=wanted)
        check(f"{algorithm} attributes", told["Checksum"][field] == made[field] and told["ObjectParts"]["TotalPartsCount"] == 2, told)
        check(f"{algorithm} attributes' ETag", told["ETag"] == made["ETag"].strip('"'), told)
        first = S3.get_object(Bucket=bucket, Key="sum", PartNumber=1, ChecksumMode="ENABLED")
        check(f"{algorithm} of a part", first.get(field) == parts[0][field], first)
    refused("other checksum", lambda: S3.put_object(Bucket=bucket, Key="sum", Body=b"abc", ChecksumCRC32="AAAAAA=="), "BadDigest")


def pages_and_the_public(bucket):
    rule = {"AllowedMethods": ["GET"], "AllowedOrigins": ["http://page.example"], "AllowedHeaders": ["*"]}
    S3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [rule]})
    check("CORS is kept", S3.get_bucket_cors(Bucket=bucket)["CORSRules"][0]["AllowedOrigins"] == ["http://page.example"])
    asked = {"Origin": "http://page.example", "Access-Control-Request-Method": "GET"}
    answer = http("OPTIONS", f"{ENDPOINT}/{bucket}/a", headers=asked)
    check("preflight", answer[2].get("access-control-allow-origin") == "http://page.example", answer)
    check("not public", http("GET", f"{ENDPOINT}/{bucket}/a")[0] == 403)
    allow = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    S3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [allow]}))
    check("public", http("GET", f"{ENDPOINT}/{bucket}/a")[1] == b"hello")
    check("public to read only", http("PUT", f"{ENDPOINT}/{bucket}/a", b"x")[0] == 403 and http("GET", f"{ENDPOINT}/{bucket}")[0] == 403)
    S3.delete_bucket_policy(Bucket=bucket)
    refused("malformed policy", lambda: S3.put_bucket_policy(Bucket=bucket, Policy="{"), "MalformedPolicy")
    rule = {"ID": "r", "Status": "Enabled", "Filter": {"Prefix": "tmp/"}, "Expiration": {"Days": 1}}
    S3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [rule]})
    check("lifecycle is kept", S3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"][0]["ID"] == "r")


def signatures(bucket):
    params = {"Bucket": bucket, "Key": "a"}
    url = S3.generate_presigned_url("get_object", Params=params, ExpiresIn=60)
    check("presigned get", http("GET", url)[1] == b"hello")
    check("other signature", b"SignatureDoesNotMatch" in http("GET", url[:-4] + "0000")[1])
    url = S3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "pre"}, ExpiresIn=60)
    http("PUT", url, b"put by url")
    check("presigned put", body(bucket, "pre") == b"put by url")
    refused("wrong secret", lambda: client(os.environ["AWS_ACCESS_KEY_ID"], "another-secret").list_buckets(), "SignatureDoesNotMatch")
    refused("unknown key", lambda: client("NOBODY", "another-secret").list_buckets(), "InvalidAccessKeyId")
    status = {"success_action_status": "201"}
    form = S3.generate_presigned_post(bucket, "posted", Fields=status, Conditions=[status, ["content-length-range", 1, 100]])
    check("form", post(form, b"by form")[0] == 201 and body(bucket, "posted") == b"by form")
    check("form too large", b"EntityTooLarge" in post(form, b"x" * 200)[1])


def post(form, data):
    def field(name, value):
        return f'--cut\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'

    head = "".join(field(name, value) for name, value in form["fields"].items())
    head += '--cut\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    return http("POST", form["url"], head.encode() + data + b"\r\n--cut--\r\n", {"Content-Type": "multipart/form-data; boundary=cut"})


def main():
    groups = [
        ("plain", [buckets, objects, copies, multipart, checksums, pages_and_the_public, signatures]),
        ("keys", [keys_and_listings]),
        ("versions", [versions]),
    ]
    for name, checks in groups:
        bucket = make(name)
        for one in checks:
            try:
                one(bucket)
            except Exception as broken:  # the other groups still run
                check(one.__name__, False, repr(broken))
        empty_and_delete(bucket)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
