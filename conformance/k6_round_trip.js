// PUT, GET, HEAD and DELETE of an object by k6, signed by the library that k6's own documents use.
import { check } from 'k6';
import http from 'k6/http';
import { AWSConfig, SignatureV4 } from 'https://jslib.k6.io/aws/0.13.0/aws.js';

const endpoint = __ENV.ENDPOINT;
const [scheme, host] = endpoint.split('://');
const config = new AWSConfig({
    region: 'us-east-1',
    accessKeyId: __ENV.AWS_ACCESS_KEY_ID,
    secretAccessKey: __ENV.AWS_SECRET_ACCESS_KEY,
});
const signer = new SignatureV4({
    service: 's3',
    region: config.region,
    credentials: { accessKeyId: config.accessKeyId, secretAccessKey: config.secretAccessKey },
    uriEscapePath: false,
    applyChecksum: true,
});

export const options = { vus: 1, iterations: 1, thresholds: { checks: ['rate==1'] } };

function call(method, path, body) {
    const request = signer.sign({ method, endpoint: { protocol: scheme, hostname: host, path: '' }, path, headers: {}, body });
    return http.request(method, `${endpoint}${path}`, body || null, { headers: request.headers });
}

export default function () {
    check(call('PUT', '/conf-k6'), { 'bucket made': (r) => r.status === 200 });
    check(call('PUT', '/conf-k6/key', 'from k6'), { put: (r) => r.status === 200 });
    check(call('GET', '/conf-k6/key'), { got: (r) => r.status === 200 && r.body === 'from k6' });
    check(call('DELETE', '/conf-k6/key'), { deleted: (r) => r.status === 204 });
    check(call('DELETE', '/conf-k6'), { 'bucket deleted': (r) => r.status === 204 });
}
