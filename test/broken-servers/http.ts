// Ways to be wrong about what holds for every path, and about keys.
import { anyKey, type Defect, ignoreRequestHeader, replaceHeader, replaceText, status, statusWhere } from './change.ts'

export const httpDefects: readonly Defect[] = [
  ['x-request-id is missing', 'house.request-id', replaceHeader('x-request-id')],
  ['the caller’s x-request-id is replaced', 'house.request-id', ignoreRequestHeader('x-request-id')],
  ['all requests have the same id', 'house.request-id', replaceHeader('x-request-id', 'one')],
  ['HEAD is not answered', 'house.head', statusWhere(404, ({ method }) => method === 'HEAD')],
  [
    'HEAD tells another length',
    'house.head',
    {
      alterReply: ({ headers }, { method }) => {
        if (method === 'HEAD') headers.set('content-length', '1')
        return { headers }
      },
    },
  ],
  ['other origins may not read', 'house.cors', replaceHeader('access-control-allow-origin')],
  ['pages may not send a key', 'house.cors', replaceHeader('access-control-allow-headers')],
  ['a wrong method is a 404', 'house.method', status(405, 404)],
  ['a wrong method is not told which are right', 'house.method', replaceHeader('allow')],
  ['an unknown path is a 200', 'house.unknown-path', status(404, 200)],
  [
    'an unknown parameter is refused',
    'house.unknown-parameter',
    statusWhere(400, ({ url }) => url.searchParams.has('surprise')),
  ],
  [
    'a failure repeats the key',
    'house.key-unsaid',
    { alterReply: ({ text }, { url }) => ({ text: `${text}\n${url.searchParams.get('apikey') ?? ''}` }) },
  ],
  ['finality is told in other words', 'house.confidence', replaceHeader('x-tetrad-finality', 'maybe')],
  ['no key is needed', 'house.key.missing', anyKey],
  [
    'parameters are checked before the key',
    'house.key.before-parameters',
    replaceText('Missing/Invalid API Key', 'Error!'),
  ],
  ['a bad key is a 403', 'house.key.unknown.validators.metadata', status(401, 403)],
  ['www-authenticate is missing', 'house.key.unknown.validators.metadata', replaceHeader('www-authenticate')],
  [
    'a bad key is told in other words',
    'house.key.unknown.explorer.fundedBy',
    replaceText('Invalid API Key', 'Wrong key'),
  ],
  ['two parts of a key are enough', 'house.key.incomplete.fx.createQuote', anyKey],
  ['every plan may do everything', 'house.key.plan', anyKey],
]
