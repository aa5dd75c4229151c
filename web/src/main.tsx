/** The page begins here. */
import "@/theme/page.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiProblem } from "@/api/client";
import { listen } from "@/keys/useCommand";
import { Entrance } from "@/pages/Entrance";
import { enter } from "@/pages/enter";
import { router } from "@/routes";
import { keepTheme } from "@/theme/theme";
import { Tips } from "@/ui/Tips";
import { Toasts } from "@/ui/Toasts";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: false, // the stream says what changed (FM-27)
      retry: (times, error) =>
        times < 2 && !(error instanceof ApiProblem && error.status > 0 && error.status < 500),
    },
  },
});

keepTheme();
listen();
void enter();

const place = document.getElementById("page");
if (place) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Entrance>
          <RouterProvider router={router} />
        </Entrance>
        <Toasts />
        <Tips />
      </QueryClientProvider>
    </StrictMode>,
  );
}
