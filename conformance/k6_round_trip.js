// A bucket and an object made, read and deleted by k6, with AWS Signature Version 4 made by k6's own digests: nothing is fetched.
import { check } from 'k6';
import crypto from 'k6/crypto';
import http from 'k6/http';

const { ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = __ENV;
const host = ENDPOINT.split('://')[1];
const names = 'host;x-amz-content-sha256;x-amz-date';

export const options = { vus: 1, iterations: 1, thresholds: { checks: ['rate==1'] } };

function call(method, path, body) {
    const payload = crypto.sha256(body || '', 'hex');
    const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const scope = [stamp.slice(0, 8), 'us-east-1', 's3', 'aws4_request'];
    const canonical = `${method}\n${path}\n\nhost:${host}\nx-amz-content-sha256:${payload}\nx-amz-date:${stamp}\n\n${names}\n${payload}`;
    const text = `AWS4-HMAC-SHA256\n${stamp}\n${scope.join('/')}\n${crypto.sha256(canonical, 'hex')}`;
    const key = scope.reduce((key, part) => crypto.hmac('sha256', key, part, 'binary'), `AWS4${AWS_SECRET_ACCESS_KEY}`);
    const signature = crypto.hmac('sha256', key, text, 'hex');
    const Authorization = `AWS4-HMAC-SHA256 Credential=${AWS_ACCESS_KEY_ID}/${scope.join('/')}, SignedHeaders=${names}, Signature=${signature}`;
    const headers = { 'x-amz-date': stamp, 'x-amz-content-sha256': payload, Authorization };
    return http.request(method, `${ENDPOINT}${path}`, body || null, { headers });
}

export default function () {
    check(call('PUT', '/conf-k6'), { 'bucket made': (r) => r.status === 200 });
    check(call('PUT', '/conf-k6/key', 'from k6'), { put: (r) => r.status === 200 });
    check(call('GET', '/conf-k6/key'), { got: (r) => r.status === 200 && r.body === 'from k6' });
    check(call('DELETE', '/conf-k6/key'), { deleted: (r) => r.status === 204 });
    check(call('DELETE', '/conf-k6'), { 'bucket deleted': (r) => r.status === 204 });
}
