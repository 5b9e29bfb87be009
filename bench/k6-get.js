// GETs of objects as fast as k6 can, with AWS Signature Version 4 made by k6's own digests. Bodies are thrown away unread.
import { check } from 'k6';
import crypto from 'k6/crypto';
import http from 'k6/http';

const { ENDPOINT, BUCKET, OBJECTS, USERS, DURATION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = __ENV;
const host = ENDPOINT.split('://')[1];
const empty = crypto.sha256('', 'hex');
const names = 'host;x-amz-content-sha256;x-amz-date';
let day;
let key;

export const options = { vus: Number(USERS), duration: DURATION, discardResponseBodies: true };

function signingKey(date) {
    if (date !== day) {
        key = `AWS4${AWS_SECRET_ACCESS_KEY}`;
        for (const part of [date, 'us-east-1', 's3', 'aws4_request']) key = crypto.hmac('sha256', key, part, 'binary');
        day = date;
    }
    return key;
}

export default function () {
    const path = `/${BUCKET}/k6-${Math.floor(Math.random() * Number(OBJECTS))}`;
    const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const scope = `${stamp.slice(0, 8)}/us-east-1/s3/aws4_request`;
    const canonical = `GET\n${path}\n\nhost:${host}\nx-amz-content-sha256:${empty}\nx-amz-date:${stamp}\n\n${names}\n${empty}`;
    const text = `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${crypto.sha256(canonical, 'hex')}`;
    const signature = crypto.hmac('sha256', signingKey(stamp.slice(0, 8)), text, 'hex');
    const Authorization = `AWS4-HMAC-SHA256 Credential=${AWS_ACCESS_KEY_ID}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    const headers = { 'x-amz-date': stamp, 'x-amz-content-sha256': empty, Authorization };
    check(http.get(`${ENDPOINT}${path}`, { headers, tags: { name: 'get' } }), { read: (answer) => answer.status === 200 });
}
