// Broken servers: HTTP behaviour that all endpoints share, and keys.
import { anyKey, type Defect, ignoreRequestHeader, replaceHeader, replaceText, status, statusWhere } from './change.ts'

export const httpDefects: readonly Defect[] = [
  ['x-request-id is missing', 'http.request-id', replaceHeader('x-request-id')],
  ['the caller’s x-request-id is replaced', 'http.request-id', ignoreRequestHeader('x-request-id')],
  ['all requests have the same id', 'http.request-id', replaceHeader('x-request-id', 'one')],
  ['HEAD is not supported', 'http.head', statusWhere(404, ({ method }) => method === 'HEAD')],
  [
    'HEAD returns another content-length',
    'http.head',
    {
      alterReply: ({ headers }, { method }) => {
        if (method === 'HEAD') headers.set('content-length', '1')
        return { headers }
      },
    },
  ],
  ['other origins must not read responses', 'http.cors', replaceHeader('access-control-allow-origin')],
  ['pages of other origins must not send a key', 'http.cors', replaceHeader('access-control-allow-headers')],
  ['an unsupported method returns 404', 'http.method', status(405, 404)],
  ['an unsupported method returns no allow header', 'http.method', replaceHeader('allow')],
  ['an unknown path returns 200', 'http.unknown-path', status(404, 200)],
  [
    'an unknown parameter is refused by a lookup',
    'http.unknown-parameter',
    statusWhere(400, ({ url }) => url.searchParams.has('surprise') && url.pathname.startsWith('/markets/slug/')),
  ],
  [
    'an unknown parameter changes a selection',
    'http.unknown-parameter',
    {
      alterRequest: ({ url }) => {
        if (url.searchParams.has('surprise') && url.searchParams.has('limit')) url.searchParams.set('limit', '2')
        url.searchParams.delete('surprise')
        url.searchParams.delete('__proto__')
        return undefined
      },
    },
  ],
  [
    'the refusal of an unknown parameter does not name it',
    'http.unknown-parameter',
    replaceText('surprise', 'something', '/effectiveness'),
  ],
  [
    'a response contains the key',
    'http.key-not-leaked',
    { alterReply: ({ text }, { url }) => ({ text: `${text}\n${url.searchParams.get('apikey') ?? ''}` }) },
  ],
  ['the finality header has an unknown value', 'http.confidence', replaceHeader('x-tetrad-finality', 'maybe')],
  ['no key is required', 'http.key.missing', anyKey],
  [
    'parameters are checked before the key',
    'http.key.before-parameters',
    replaceText('Missing/Invalid API Key', 'Error!'),
  ],
  ['a bad key returns 403', 'http.key.unknown.validators.metadata', status(401, 403)],
  ['www-authenticate is missing', 'http.key.unknown.validators.metadata', replaceHeader('www-authenticate')],
  [
    'a bad key has another error message',
    'http.key.unknown.explorer.fundedBy',
    replaceText('Invalid API Key', 'Wrong key'),
  ],
  ['two parts of a key are accepted', 'http.key.incomplete.fx.createQuote', anyKey],
  ['plans are not checked', 'http.key.plan', anyKey],
]
