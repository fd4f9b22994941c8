import { render } from "preact";
import { keepListening } from "./api/live";
import { App } from "./app";
import "./style/tokens.css";
import "./style/base.css";
import "./style/layout.css";
import "./style/panel.css";
import "./style/charts.css";
import "./style/views.css";

const place = document.getElementById("app");
if (place) render(<App />, place);
void keepListening();
