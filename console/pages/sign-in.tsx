// Where the one-time link leads: the token goes from the address straight to the server, and out of the history.
import { useEffect, useRef, useState } from 'react'
import { Failure } from '../parts/query-result.tsx'
import { hrefOf, type PageRoute } from '../route.ts'
import { useConsoleContext } from '../session.tsx'

export function SignIn({ place }: { readonly place: PageRoute }) {
  const { signIn } = useConsoleContext()
  const [error, setError] = useState<unknown>()
  const sent = useRef(false)
  const [token = ''] = place.parts
  useEffect(() => {
    // A link is good for one use; the page may be drawn twice.
    if (sent.current || token === '') return
    sent.current = true
    signIn(token)
      .then(() => window.location.replace(hrefOf('overview')))
      .catch(setError)
  }, [signIn, token])
  return (
    <>
      <h1>Sign in</h1>
      {error !== undefined ? (
        <Failure error={error} />
      ) : token !== '' ? (
        <p className="busy" role="status">
          Signing in…
        </p>
      ) : (
        <p className="note">
          The operator signs in with a one-time link: it is printed when the server starts in a terminal, and by{' '}
          <code>tetrad console link</code> at any time.
        </p>
      )}
    </>
  )
}
