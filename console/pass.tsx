// What the visitor may do: the key that the pages call with, and whether the operator is signed in. A pasted key stays
// in this tab until it is closed; the operator's own is made by the server and ends with the session.
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react'
import { type Client, createClient } from '#api/client.ts'
import type { ConsoleSession } from '#api/console.ts'
import type { Group } from '#api/routes.ts'
import { heard, refusedEvent } from './door.ts'
import { OperatorError, operator } from './operator.ts'

type Session = Pick<ConsoleSession, 'signedIn' | 'expiresAt'> & Partial<Pick<ConsoleSession, 'groups' | 'chains'>>

export interface Pass {
  readonly key: string
  readonly client: Client
  readonly session: Session
  /** False until the server has said who we are. */
  readonly known: boolean
  /** The session ended, and not from here. */
  readonly ended: boolean
  takeKey(key: string): void
  signIn(token: string): Promise<void>
  signOut(): Promise<void>
}

const place = 'tetrad-key'
const Context = createContext<Pass | undefined>(undefined)

export function usePass(): Pass {
  const pass = useContext(Context)
  if (!pass) throw new Error('usePass outside PassProvider')
  return pass
}

/** An interface may live under a host name of its own, at the same port. */
function basesOf({ groups = {} as ConsoleSession['groups'] }: Session): Partial<Record<Group, string>> {
  const { protocol, port } = window.location
  const own = Object.entries(groups).filter(([, { host }]) => host !== '')
  return Object.fromEntries(own.map(([group, { host }]) => [group, `${protocol}//${host}${port && `:${port}`}`]))
}

/** Empty where the session's key was revoked: the operator's side goes on without one. */
async function ownKey(): Promise<string> {
  try {
    return (await operator.ownKey()).key
  } catch (error) {
    if (error instanceof OperatorError && error.code === 'console.key') return ''
    throw error
  }
}

/** The server made it for the session; a pasted one is the visitor's. */
const isOwn = (key: string | null): boolean => key?.split(':')[1]?.startsWith('console-') ?? false

/** A refusal may have any reason; the server says whether the session's end is it. */
function useEnd(signedIn: boolean, end: (found: Session) => void): void {
  const told = useRef(end)
  told.current = end
  useEffect(() => {
    if (!signedIn) return
    let [asking, over] = [false, false]
    const look = async () => {
      if (asking) return
      asking = true
      const found = await operator.session().catch(() => undefined)
      asking = false
      // An answer that comes after the next sign-in is about the session before it.
      if (found && !found.signedIn && !over) told.current(found)
    }
    const heed = () => void look()
    window.addEventListener(refusedEvent, heed)
    return () => {
      over = true
      window.removeEventListener(refusedEvent, heed)
    }
  }, [signedIn])
}

export function PassProvider({ children }: { readonly children: ReactNode }) {
  const [key, setKey] = useState(() => sessionStorage.getItem(place) ?? '')
  const [session, setSession] = useState<Session>({ signedIn: false })
  const [known, setKnown] = useState(false)
  const [ended, setEnded] = useState(false)

  const takeKey = useCallback((given: string) => {
    if (given === '') sessionStorage.removeItem(place)
    else sessionStorage.setItem(place, given)
    setKey(given)
  }, [])

  const settle = useCallback(
    async (found: Session) => {
      if (found.signedIn && !sessionStorage.getItem(place)) takeKey(await ownKey())
      if (found.signedIn) setEnded(false)
      setSession(found)
    },
    [takeKey],
  )

  useEffect(() => {
    operator
      .session()
      .then(settle)
      // A server whose console has no operator's side still has its pages.
      .catch(() => {})
      .finally(() => setKnown(true))
  }, [settle])

  useEnd(session.signedIn, (found) => {
    if (isOwn(sessionStorage.getItem(place))) takeKey('')
    setSession(found)
    setEnded(true)
  })

  const pass = useMemo<Pass>(
    () => ({
      key,
      client: createClient({
        baseUrl: window.location.origin,
        baseUrls: basesOf(session),
        ...(key !== '' && { key }),
        retries: 1,
        fetch: heard((...request) => fetch(...request)),
      }),
      session,
      known,
      ended,
      takeKey,
      async signIn(token) {
        const found = await operator.signIn(token)
        takeKey('')
        await settle(found)
      },
      async signOut() {
        const found = await operator.signOut()
        takeKey('')
        setSession(found)
      },
    }),
    [key, session, known, ended, takeKey, settle],
  )
  return <Context value={pass}>{children}</Context>
}
